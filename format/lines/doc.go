// Package lines reads records of text: JSON Lines, one object a line, and CSV, one row a record.
//
// [Scan] and [Dialect.Scan] find the records of a file without keeping them, in one pass. A record
// never has its line end, and blank lines are no records. Lines end with LF or CRLF; the last one
// may have no end. A byte order mark of UTF-8 at the start of a file is skipped. Files in UTF-16
// are refused.
//
// [Paths.Parse] checks the JSON of a line and returns the values at some paths. [Dialect.Split]
// cuts a row into its fields. [Value.Append] turns values into elements of a tensor.
//
// # JSON
//
// A line is one object of RFC 8259, as Python writes and reads it: NaN, Infinity and -Infinity are
// numbers. Of two members with one name the last counts. Values may nest 1,000 levels deep. A \u
// escape of half a character is refused, because UTF-8 has no form for it.
//
// # CSV
//
// A field that begins with the quote ends with the quote, and may have delimiters, line ends and
// doubled quotes. A quote within another field is a letter. Anything else after the closing quote
// is refused.
//
// # Trust
//
// Input may be hostile. Memory does not grow beyond the record at hand.
package lines
