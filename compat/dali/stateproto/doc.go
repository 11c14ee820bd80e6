// Package stateproto reads and writes the states of DALI: checkpoints of
// pipelines, and of the readers and operators in them.
//
// # Checkpoints
//
// What Pipeline.checkpoint returns is a protobuf message without a frame
// around it; (1) is a field that is always there, * one that is there any
// number of times:
//
//	Checkpoint
//	┌──────────────────────────────────────────────────────────────────┐
//	│ 1 cpts *                    2 external_ctx_cpt                   │
//	│ ┌─────────────────────────┐ ┌──────────────────────────────────┐ │
//	│ │ 1 operator_name  (1)    │ │ 1 pipeline_data (1) JSON         │ │
//	│ │ 2 operator_state (1)    │ │ 2 iterator_data (1) JSON or none │ │
//	│ └─────────────────────────┘ └──────────────────────────────────┘ │
//	└──────────────────────────────────────────────────────────────────┘
//
// There is one entry for each node of the executor, in its order, under the
// name of the operator's instance. The executor has nodes of its own, which have no
// state: a MakeContiguous behind each output of the pipeline that may not be
// contiguous, see [Contiguous]. DALI restores no checkpoint that names a node that it
// does not have, or lacks an operator.
//
// # Operators
//
// The state of an operator is one of four, see [Snapshot]:
//
//	none         nothing at all: operators without state, external sources
//	Random       59 characters, Philox_KKKKKKKKKKKKKKKK_SSSSSSSSSSSSSSSS:BBBBBBBBBBBBBBBB_P
//	Reader       ReaderStateSnapshot
//	             ┌──────────────────────────────────────────────────────┐
//	             │ 1 loader_state (1)                                   │
//	             │ ┌──────────────────────────────────────────────────┐ │
//	             │ │ 1 rng (1)            decimal digits              │ │
//	             │ │ 2 current_epoch (1)  varint, from 0              │ │
//	             │ │ 3 age (1)            varint, samples since its   │ │
//	             │ │                      start                       │ │
//	             │ └──────────────────────────────────────────────────┘ │
//	             │ 1000 bivouac         see Extension; not DALI's       │
//	             └──────────────────────────────────────────────────────┘
//	Opaque       all else, such as messages of older operators
//
// Every reader has the same one: files, numpy, TFRecord, WebDataset, MXNet and COCO.
// rng is the state of std::minstd_rand0 at the start of the epoch, from which its
// order follows; [Loader.Engine] reads it. In dynamic mode a reader gives the same
// bytes in base64, see [Reader.MarshalText].
//
// # Counters
//
// pipeline_data is what Python's json.dumps writes of a [Progress], and
// iterator_data of an [Iterator], where the checkpoint is one of a framework's.
//
// # Sameness
//
// Append writes the bytes that Parse read, unknown fields and odd encodings
// included; see the field Wire of each message, which is zero for what DALI writes.
package stateproto
