"""Tables of data sets: columns, levels, keys, sketches, pending rows, orphaned blobs."""
