// Package serve lets programs in other languages use Bivouac: it answers their calls over a Unix
// socket, from a process of its own.
//
// The Python package starts `bivouac serve` beside each trainer. Requests and answers are JSON in
// frames; arrays travel in memory that both processes map, so that a save takes no copy beyond the
// trainer's and a load none at all. The page docs/format/serve.md is the protocol.
//
//	trainer                           side-car
//	  client ── Unix socket ── frames ── connection ── calls
//	  numpy  ── memfd ────────────────── arena (saves)
//	  numpy  ── memfd ────────────────── result (loads)
//	  loader ── memfd ────────────────── block (ids and states of the next batches)
//
// A connection owns its arenas, checkpointers and calls. They end with it. A save that was accepted
// is handed over: it is committed even if the trainer is killed.
//
// Nothing that a client sends stops the server. A frame that the protocol does not have ends the
// connection it came on. Memory is allocated before anyone touches it, so that a full machine is an
// error instead of a signal.
package serve
