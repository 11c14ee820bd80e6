// Package pickle reads Python's pickles as data, and runs nothing.
//
// A pickle is a program for a small stack machine. Two of its instructions let Python run any code:
// GLOBAL imports a name, and REDUCE calls it. Here neither happens. A name becomes a Global, if the
// caller lists it, and a call becomes an Object that records the name and the arguments. Any other
// name is an error that has the name. The caller decides what an Object means.
//
//	Python             Go
//	None               nil
//	True, False        bool
//	int                int64, or *big.Int beyond 64 bits
//	float              float64
//	str                string
//	bytes, bytearray   []byte
//	list               *List
//	tuple              *Tuple
//	dict               *Dict
//	set, frozenset     *Set
//	a listed name      Global
//	a call, instance   *Object
//	persistent id      *Persistent
//
// All protocols from 0 to 5 are read, without old classes of Python 2, numbers of the extension
// registry and buffers outside of the stream.
//
// Parse takes memory and time in proportion to its input: every length is compared with the bytes
// that are left, and Options.Memory bounds the values. Parse does not recurse. Values may be
// shared, and may contain themselves, so code that walks them needs a limit.
package pickle
