"""The file of a study: every learner's results in one HDF5 file that explains itself and is valid at any moment.

    byte 0     a header of text: magic line with the format version, digest, lengths, how to read the file, and as
               JSON provenance and contents: where every array stands, with its type, shape and axes
    after it   an ordinary HDF5 file, whose arrays are neither compressed nor in chunks

The file has its full size when it gets its name, and its structure never changes.  What changes are arrays of results,
whose places are known; they are written straight to these places and never through the HDF5 library.  So a process may
end at any moment, whatever it writes, and writing costs no more than what is written.

A learner's results are written first, then their checksum, then its state.  The checksum also covers what they are of:
the setting's key and the seed.  The digest in the header covers all bytes that never change.

The header alone is enough to read everything, so the HDF5 library is needed only to make a file; any program that
knows HDF5 or netCDF reads it, with names on all axes.
"""
