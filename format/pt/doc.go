// Package pt reads the archives that torch.save writes: one value of Python, whose tensors lie
// beside it in files of their own.
//
//	NAME/data.pkl      the value, a pickle; a tensor refers to its storage by a persistent id
//	NAME/data/0 …      the storages: raw elements, uncompressed and aligned to 64 bytes
//	NAME/byteorder     "little" or "big"
//	NAME/version       …
//
// The archive is a zip file. Each file has a CRC-32, unless the writer was told to leave them out;
// then all of them are 0.
//
// Nothing in the pickle is imported or called; see package pickle. The value becomes a tree of
// dictionaries, lists, tuples, tensors, numbers, texts and None. A value of any other type is an
// error that says where it is and what it is. Open reads no elements of tensors: a Tensor says
// where they lie.
package pt
