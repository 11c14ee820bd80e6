// Package pipeproto reads and writes the pipelines that DALI serializes, and converts them to and
// from YAML.
//
// # Bytes
//
// A serialized pipeline is a protobuf message, PipelineDef of package dali_proto, proto2, without a
// frame around it. DALI writes fields by number. (1) marks a field that is always present, and * a
// field that may be repeated:
//
//	PipelineDef                         OpDef, one an operator
//	┌─────────────────────────────┐     ┌─────────────────────────────────┐
//	│  1 num_threads       varint │     │ 1 name (1)   bytes, the schema  │
//	│  2 batch_size (1)    varint │     │ 2 input *    InputOutput        │
//	│  3 _unused_use_async varint │     │ 3 output *   InputOutput        │
//	│  4 _unused_pipeline  varint │     │ 4 args *     Argument           │
//	│  5 op *              OpDef ─┼───► │ 5 inst_name  bytes              │
//	│  6 external_inputs * bytes  │     │ 6 logical_id varint             │
//	│  7 pipe_outputs * ──────────┼──┐  └─────────────────────────────────┘
//	│  8 device_id         varint │  │  InputOutput
//	│  9 seed              varint │  │  ┌─────────────────────────────────┐
//	│ 10 enable_checkpointing     │  └► │ 1 name (1)              bytes   │
//	│ 11 executor_type     varint │     │ 2 device (1)            bytes   │
//	│ 12 executor_flags    varint │     │ 3 is_argument_input (1) varint  │
//	│ 13 prefetch_queue_depth_cpu │     │ 4 arg_name              bytes   │
//	│ 14 prefetch_queue_depth_gpu │     │ 5 dtype                 varint  │
//	│ 15 bytes_per_sample_hint    │     │ 6 ndim                  varint  │
//	└─────────────────────────────┘     │ 7 layout                bytes   │
//	                                    └─────────────────────────────────┘
//	Argument
//	┌──────────────────────────────────────────────────────────────────┐
//	│ 1 name (1) bytes │ 2 type (1) bytes: int64, float, string, bool  │
//	│ 3 floats * fixed32 │ 4 ints * varint │ 5 strings * │ 6 bools *   │
//	│ 7 extra_args * Argument │ 8 is_vector (1) varint                 │
//	└──────────────────────────────────────────────────────────────────┘
//
// DALI always writes batch_size and is_vector, and refuses messages without them; so does Parse. A
// scalar has one value in floats, ints, strings or bools. A vector has is_vector set and no values.
// Instead it has one entry of extra_args per element: an Argument "element N" of the same type with
// the value. [Argument.Value] and [NewArgument] convert both.
//
// Pipelines carry, in the arguments _origin_stack_*, file names and source
// lines of the program that made them.
//
// # Sameness
//
// Append writes the same bytes that Parse read: unknown fields, fields in another order, packed
// numbers and long varints stay unchanged. See the field Wire of each message, which is zero for
// messages of DALI.
//
// # YAML
//
// MarshalYAML writes the same message as YAML, without the parts that DALI always writes in the
// same way:
//
//	num_threads: 1
//	batch_size: 3
//	op:
//	    - name: Resize
//	      input:
//	        - {name: images, device: cpu}
//	      output:
//	        - {name: __Resize_4, device: cpu}
//	      args:
//	        device: cpu
//	        size: [224.0, 224.0]
//	        axes: !int64 []
//	        odd: {type: int32, ints: [7]}
//	      inst_name: __Resize_4
//	      logical_id: 4
//
// Keys are the names of the fields, in their order. false, 0 and "" are left out if an absent field
// means the same. Arguments are one mapping if their names differ. A value or a list of values has
// the type that YAML gives it. A list without elements has a tag with its type. An argument that
// DALI would not write in this form is a mapping of its fields. A message whose layout is not
// DALI's has the key "wire". It lists the fields in their order: fields without a name, and fields
// that are written in another way, come with their bytes.
//
// UnmarshalYAML reads the text back. The result of MarshalYAML gives the same bytes again.
package pipeproto
