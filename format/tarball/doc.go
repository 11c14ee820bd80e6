// Package tarball finds the members of tar archives.
//
// [Scan] reads the headers of an archive and skips the data:
//
//	0      100  108  116  124   136    148       156   157    257    265 … 345     500  512
//	+------+----+----+----+-----+------+---------+-----+------+------+-----+-------+----+------
//	| name |mode|uid |gid |size |mtime |checksum |type | link |magic | …   |prefix |    | data
//	+------+----+----+----+-----+------+---------+-----+------+------+-----+-------+----+------
//	                       octal or base 256                                            in 512s
//
// A member has one header, behind headers of its own that extend it: GNU's long names (types L and
// K) and the records of pax (type x), of which path, linkpath and size count. The archive ends at a
// block of zeros or at the end of the file. What follows a block of zeros does not count, as in
// other readers of tar.
//
// Nothing is unpacked. Links, devices, and names that lead out of the folder of an archive are
// described as they are, and nobody follows them; see [Member.Outside].
//
// # Trust
//
// Input may be hostile. The checksum of every header is verified. A header that extends another may
// have at most 1 MiB. The data of a member must lie in the file. What Scan allocates does not
// depend on numbers of the file.
package tarball
