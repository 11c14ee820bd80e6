// Dynamic is a program that calls operators one by one: it reads pictures, decodes
// and augments them, and glues what comes out of two epochs to a contact sheet. It can be
// stopped at any batch and carries on where it was, to the same sheet.
//
//	go run ./examples/dynamic -dir /tmp/contact -stop 3     stops after three batches
//	go run ./examples/dynamic -dir /tmp/contact             carries on and writes sheet.png
//	go run ./examples/dynamic -dir /tmp/contact -compiled   the same from a compiled loop
//
//	reader ──▶ decode ──▶ random window ──▶ mirror ──▶ contrast ──▶ sheet
//	             (position)   (generator)      (generator)             (pixels)
//
// What is in brackets has a state. A checkpoint captures all of them after every batch; it does
// not know whether the loop is compiled, nor in which mode calls are computed, so that a run
// may go on in another way than it began.
package main
