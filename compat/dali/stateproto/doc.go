// Package stateproto reads and writes the states of DALI: checkpoints of pipelines, and states of
// the readers and operators in them.
//
// # Checkpoints
//
// Pipeline.checkpoint returns a protobuf message without a frame around it. (1) marks a field that
// is always present, and * a field that may be repeated:
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
// There is one entry for each node of the executor, in its order, under the name of the operator's
// instance. The executor has nodes of its own, which have no state: a MakeContiguous after each
// output of the pipeline that may not be contiguous, see [Contiguous]. DALI does not restore a
// checkpoint that names a node that it does not have, or that lacks an operator.
//
// # Operators
//
// The state of an operator has one of four kinds, see [Snapshot]:
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
// All readers have the same kind of state: files, numpy, TFRecord, WebDataset, MXNet and COCO. rng
// is the state of std::minstd_rand0 at the start of the epoch, which determines its order;
// [Loader.Engine] reads it. In dynamic mode a reader returns the same bytes in base64, see
// [Reader.MarshalText].
//
// # Counters
//
// pipeline_data is a [Progress] as Python's json.dumps writes it. iterator_data is an [Iterator],
// if the checkpoint belongs to an iterator of a framework.
//
// # Sameness
//
// Append writes the same bytes that Parse read, including unknown fields and unusual encodings. See
// the field Wire of each message, which is zero for messages of DALI.
package stateproto
