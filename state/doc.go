// Package state defines the state of a stream: a small document that holds the position of the
// stream and says for which options and data the position is valid.
//
// The delivered stream is a pure function of definition, data set, seed and position. So the state
// is the position and hashes of the rest:
//
//	{"batch":3,"config":"9f…","digest":"2a…","epoch":1,
//	 "fields":{"batch_size":"64","seed":"7"},"fingerprint":"c0…",
//	 "kind":"pipeline","position":1989,"version":1}
//
// It is canonical JSON ([Canonical]): equal states are equal bytes. Its size does
// not depend on the size of the data set or on the position.
//
// [Document.Check] compares a stored document with the one that the stream would write now and
// names each field that differs; [Hasher] and [Digest] make the hashes. Their results never change,
// because stored documents live for years.
package state
