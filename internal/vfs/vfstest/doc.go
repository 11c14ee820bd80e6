// Package vfstest has file systems for tests of what writes to a disk: Mem loses
// power, Fault fails a chosen call, Log writes each call as a line of text, and
// Intercept calls a function around every call. All of them implement vfs.FS, so
// that tests run the very protocol that runs on the disk.
package vfstest
