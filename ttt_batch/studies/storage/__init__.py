"""File of a study: the results of all learners in one self-describing HDF5 file that is valid at any moment.

    byte 0     text header: magic line with format version, digest, lengths, how to read the file, and as JSON the
               provenance and the contents, which give the offset, type, shape and axes of every array
    after it   an ordinary HDF5 file, whose arrays are neither compressed nor in chunks

The file has its full size when it gets its name, and its structure never changes.  Only arrays of results change.  They
are written directly to their known offsets, never through the HDF5 library.  A process may therefore end during any
write, and writing costs no more than the written bytes.

A learner's results are written first, then their checksum, then its state.  The checksum also covers the setting's key
and the seed.  The digest in the header covers all bytes that never change.

The header is enough to read everything, so only making a file needs the HDF5 library.  Any program that reads HDF5 or
netCDF can read the file, with names on all axes.
"""
