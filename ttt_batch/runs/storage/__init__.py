"""Run files: a run's arrays in one self-describing HDF5 file that is always written whole.

    byte 0     512 bytes of text: magic line with the format version, digest, length, how to read the file
    byte 512   an ordinary HDF5 file: everything that `FIELDS` declares, and one dataset per table

`FIELDS` is the only description of the format.  It is used to create the datasets, to check them on reading, and to
print their documentation.  Reading compares the length and the digest before it passes the same bytes to the HDF5
library.  A user can trust a file with a wrong digest, for example after a change by another program; a child process
then reads it (`storage.run_file`).

Writing builds the file in memory, writes it to a temporary file beside the target, flushes it to disk, and renames it
over the target.  A crash at any moment leaves either the old file or the new one.  Equal data gives equal bytes: names
are written in sorted order, and HDF5 stores no timestamps.

Text is stored in attributes of fixed length, which h5py shows as `bytes`.  HDF5 keeps text of variable length in its
global heap, where one wrong byte can make the library loop forever.
"""
