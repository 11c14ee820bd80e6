// Package object keeps a store.Store in an object store: S3, GCS, Azure and what speaks their
// protocols. docs/format/object.md describes the keys and proves the laws.
//
// An object store has no rename, no directories, no links and no locks. It has keys, and requests
// with a condition: "if the key is absent" and "if the object still has this tag". Everything that
// store.Store promises is made of these:
//
//	run/.bivouac.objects/
//	    heads/100             the name 100 is a directory, and this transaction made it
//	    data/TXN/objects/…    its objects, which are written once
//	    data/TXN/tree         their names, sizes and checksums
//	    live/TXN              the lease of a transaction that is not over
//	    gone/TXN              a directory that was or will be removed
//	    lock                  the lock of the directory run
//	run/note.json             an object of Put
//
// A directory is visible while its head exists. The head is put last, with a condition, in one
// request. So of two writers of one name one wins, and a reader sees a whole directory or none.
// Removal takes the head away first, and then the data.
//
// A process that ends the transaction of another one first makes sure that its last request can no
// longer succeed: it changes the tag on which the request depends, or occupies the key (see fence).
// So it does not matter how late a request arrives, and no clock decides what is visible. Clocks
// only decide when a process counts as dead. They are the server's, and never the caller's.
package object
