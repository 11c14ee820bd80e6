// Package wire reads and writes protobuf messages as Go structs without losing a byte: Append
// returns the bytes that Parse took, no matter which program wrote them and in what form.
//
// # Bytes
//
// A message is a sequence of occurrences of fields:
//
//	┌─────────────────────────┬──────────────────────────────────────────┐
//	│ tag: varint             │ value, as the type says                  │
//	│   number<<3 | type      │   0 varint     1 to 10 bytes, 7 bits each │
//	│                         │   1 fixed64    8 bytes                   │
//	│                         │   2 bytes      varint length, then these │
//	│                         │   3 group      occurrences, then a tag   │
//	│                         │                of type 4 with its number │
//	│                         │   5 fixed32    4 bytes                   │
//	└─────────────────────────┴──────────────────────────────────────────┘
//
// The same message can be written in many ways. The C++ library, and so DALI, writes the canonical
// form: fields by number, elements of repeated fields one by one, varints as short as possible,
// negative integers of any size in ten bytes.
//
// # Structs
//
// The fields of a struct say in the tag "dali" which field of the message they
// are: its number and name, then "required", without which a message is refused,
// or "always", which canonical form has even when it is zero. Types are
//
//	string, []string                  bytes, that need not be UTF-8
//	[]byte                            bytes
//	bool, []bool                      varint, true unless zero
//	int32, int64, *int32, *int64, []int64
//	                                  varint, two's complement
//	[]float32                         fixed32
//	struct, *struct, []struct         a message in bytes
//
// A pointer that is nil is an absent field. Repeated numbers may also be packed:
// in one occurrence of type bytes.
//
// # Layout
//
// One field of each struct is a [Layout]: zero for a message in canonical form,
// else the order in which its fields were found, with the bytes of those that are
// no field of the struct, are of another type than it says, are there once more
// than they should be, or are not written as Append would write them. So unknown
// fields stay where they were. A value that has been changed since is
// written in canonical form at its old place, a value that has been added behind the
// others of its field, or at the end.
//
// # Bounds
//
// [Limits] bounds the size of the input, how deep messages lie in each other,
// and the number of occurrences, which bounds memory. Every error says at
// which byte of which field it was.
package wire
