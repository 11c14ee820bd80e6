// Package npy reads and writes arrays in numpy's files: npy, one array, and
// npz, a zip archive of them.
//
// # npy
//
//	0             6      7      8            10                 10+n
//	+-------------+------+------+------------+------------------+------
//	| 93 N U M P Y| major| minor| n u16le    | header, n bytes  | data
//	+-------------+------+------+------------+------------------+------
//	                1      0      u16le        latin-1
//	                2      0      u32le        latin-1
//	                3      0      u32le        UTF-8
//
// The header is a dictionary as Python prints it, padded with blanks and a
// newline so that the data starts at a multiple of 64:
//
//	{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }
//
// It has just these keys, in any order, and at most 10,000 characters. It is
// parsed as ast.literal_eval parses it: string prefixes and escapes (all but
// \N{…}), adjacent strings, numbers of any base, comments, and in versions 1
// and 2 the L behind integers of Python 2.
//
// descr names the type: a byte order ('<', '>', '=' native, '|' none), a kind
// and the bytes of an element, as in '>i4'; or a name, as in 'float64'.
//
//	b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16        have tensors
//	S U V M8 m8 O f16 c32, records, sub-arrays        errs.Unsupported
//
// The data follows at once: the elements in C order, or in Fortran order where
// the header says so. What follows the data does not count.
//
// # npz
//
// Each member of the archive is an npy file, stored or deflated, with the name
// of the array and ".npy". The archive starts at the first byte.
//
// # What reading gives
//
// A tensor is in C order and little-endian, for any file. A malformed file is accepted or refused
// as numpy 2 does with allow_pickle=False.
//
// # Trust
//
// Input may be hostile. Shapes are compared with the available bytes before memory is allocated.
// The header is bounded, and Options.Budget bounds the growth of a deflated member. Checksums of
// archives are verified; a plain npy file has none.
package npy
