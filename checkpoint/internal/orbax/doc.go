// Package orbax knows the JSON documents that lie in an Orbax checkpoint beside
// the arrays. It reads what orbax-checkpoint 0.5 … 0.12 wrote and writes what
// 0.12.8 reads; it does no I/O.
//
//	<checkpoint>/_CHECKPOINT_METADATA   Checkpoint: handlers, times, custom metadata
//	<item>/_METADATA                    Tree: one entry a leaf or empty container
//	<item>/_strings.json                Strings: parameter name as JSON pointer
//	<item>/array_metadatas/process_N    Arrays: implementation names of PRNG keys
//
// Every parser takes untrusted bytes: errors are errs.Corrupt and say which
// member is wrong; memory stays in proportion to the input.
package orbax

import "encoding/json"

// Names of files and directories.
const (
	MarkerFile     = "orbax.checkpoint"     // empty; at the root of what v1.save writes
	CheckpointFile = "_CHECKPOINT_METADATA" // at the root of every checkpoint
	CommitFile     = "commit_success.txt"
	TreeFile       = "_METADATA" // in every tree item
	StringsFile    = "_strings.json"
	ArraysDir      = "array_metadatas"
	ArraysPrefix   = "process_" // of the files in ArraysDir
	ShardingFile   = "_sharding"
	JSONFile       = "data.json"   // v1
	JSONFileV0     = "metadata"    // v0
	ProtoFile      = "proto.pbtxt" // v1
	MetricsItem    = "metrics"
	MetricsFile    = "metrics"
	RootDir        = "metadata" // of a directory of steps
	RootFile       = "_ROOT_METADATA"
	StateItem      = "state" // default name of the one checkpointable
)

// Members of the metadata of our safetensors files, which hold what there is no
// other place for.
const (
	TreeMember    = "bivouac.tree"    // a Tree: the paths and kinds of the leaves
	CustomMember  = "bivouac.custom"  // the user's JSON object
	KeysMember    = "bivouac.keys"    // as array_metadatas/process_0: which tensors are PRNG keys
	StringsMember = "bivouac.strings" // an object of the strings by their keys joined with "."
)

// ManifestMark, as the custom_metadata of a TreeFile, says that a manifest belongs
// to the checkpoint, so that its loss is noticed.
var ManifestMark = json.RawMessage(`{"bivouac":{"manifest":1}}`)

// Handler type strings, spelled so that Python resolves its own handlers.
const (
	HandlerPrefix   = "orbax." // of all handlers, including v0
	handlersV1      = HandlerPrefix + "checkpoint.experimental.v1._src.handlers."
	handlersV0      = HandlerPrefix + "checkpoint._src.handlers."
	handlersV0Later = HandlerPrefix + "checkpoint.v0._src.handlers."
	HandlerTree     = handlersV1 + "pytree_handler.PyTreeHandler"
	HandlerJSON     = handlersV1 + "json_handler.JsonHandler"
	HandlerMetrics  = handlersV1 + "json_handler.MetricsHandler"
	HandlerProto    = handlersV1 + "proto_handler.ProtoHandler"
)

// Value types as recorded in _METADATA.
const (
	TypeJAX        = "jax.Array"
	TypeNumpy      = "np.ndarray"
	TypeScalar     = "scalar"
	TypeString     = "string"
	TypeNone       = "None"
	TypeDict       = "Dict"
	TypeList       = "List"
	TypeTuple      = "Tuple"
	TypeNamedTuple = "NamedTuple"
)
