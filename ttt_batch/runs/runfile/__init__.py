"""The run file: a run's arrays in one HDF5 file that explains itself and is never half written.

    byte 0     512 bytes of text: magic line with the format version, digest, length, how to read the file
    byte 512   an ordinary HDF5 file: everything that `FIELDS` declares, and one dataset per table

`FIELDS` is the only description of the format.  It creates the datasets, checks them when they are read, and
prints their documentation.  Reading trusts nothing: the length and the digest are compared before the HDF5
library sees a byte, and the library is then given the very bytes that were digested.  A person may trust a file
whose digest is wrong, because another program changed it; a child process then reads it (`shield`).

Writing builds the file in memory, writes it to a temporary file beside the target, flushes it to disk, and
renames it over the target: a crash at any moment leaves the old file or the new one.  Equal data makes equal
bytes: names are written in sorted order, and HDF5 keeps no times of day.

Text stands in attributes of fixed length, which h5py shows as `bytes`.  Text of variable length would live in
HDF5's global heap, and one wrong byte there can keep the library busy for ever.
"""
