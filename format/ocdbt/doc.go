// Package ocdbt reads and writes OCDBT databases: ordered key-value maps in a
// directory of files, kept as copy-on-write B+trees, in which TensorStore and
// Orbax store arrays.
//
// # Files
//
//	manifest.ocdbt             configuration; kind single: also the versions
//	manifest.<16 hex digits>   kind numbered only: manifest of that generation
//	<any path>                 data file: values and nodes, in any order
//
// A data file has no header and no index; only (file, offset, length) finds
// what is in it. Gaps and trailing bytes mean nothing. By custom the names are
// d/<32 hex digits>, but only the file tables say what they are.
//
// # Numbers
//
// A varint is unsigned LEB128, at most ten bytes. Other integers have a fixed
// width and are little-endian (le); the magic alone is big-endian (be).
// Structures of several entries are stored by column: field A of all entries,
// then field B of all entries.
//
// # Envelope
//
// Manifests, B+tree nodes and version-tree nodes are wrapped alike:
//
//	+-----------+-----------+---------+-------------+------ … ------+----------+
//	| magic     | length    | version | compression | body          | CRC-32C  |
//	| u32be     | u64le     | varint  | varint      |               | u32le    |
//	+-----------+-----------+---------+-------------+------ … ------+----------+
//	  0cdb3a2a manifest       0         0 none        raw, or one     of all that
//	  0cdb20de B+tree node              1 zstd        zstd frame      precedes
//	  0cdb1234 version node
//
// The length counts everything from magic to checksum and equals the length of
// the reference (or file) that led here. The checksum covers the compressed
// body. The body must be used up exactly. Values outside of nodes have no
// checksum in this format.
//
// # File table
//
// Each manifest and node lists the data files it refers to, sorted:
//
//	num_files varint | prefix_length varint[n-1] | suffix_length varint[n] |
//	base_length varint[n] | suffixes, concatenated
//
// path[i] is path[i-1][:prefix_length[i]] + suffix[i]; its first base_length
// bytes are the base path. In a node reached through base path B, itself below
// a node reached through base path A, every path is relative to A+B: so a
// database can embed nodes and values of another one that lies in one of its
// directories.
//
// # Manifest body
//
//	uuid [16] | kind u8 (0 single, 1 numbered) | max_inline_value_bytes varint |
//	max_decoded_node_bytes varint | version_tree_arity_log2 u8 |
//	compression varint (0 none, 1 zstd: | level i32le)
//
// ends here in the manifest.ocdbt of a numbered database. Otherwise follow a
// file table, the newest versions, and references to version-tree nodes with
// the older ones:
//
//	n varint | generation varint[n] | root_height u8[n] | file varint[n] |
//	offset varint[n] | length varint[n] | num_keys varint[n] |
//	num_tree_bytes varint[n] | num_indirect_value_bytes varint[n] |
//	commit_time u64le[n] (nanoseconds since the Unix epoch)
//
//	n varint | generation varint[n] | file varint[n] | offset varint[n] |
//	length varint[n] | num_generations varint[n] | commit_time u64le[n] |
//	height u8[n]
//
// An empty database has a version whose root has offset and length 2^64-1. With
// A = 2^arity_log2, the manifest holds the versions that share a block of A
// generations with the newest; a version-tree node of height h covers a block
// of A^(h+1) generations.
//
// # Version-tree node body
//
//	arity_log2 u8 | height u8 | file table | versions (height 0) or references
//	to nodes as above, without the height column
//
// # B+tree node body
//
//	height u8 | file table | n varint (1 … 2^20) | prefix_length varint[n-1] |
//	suffix_length varint[n] | interior: subtree_prefix_length varint[n] |
//	key suffixes, concatenated |
//	leaf (height 0):
//	    value_length varint[n] | value_kind u8[n] (0 inline, 1 out of line) |
//	    file varint[out of line] | offset varint[out of line] |
//	    inline values, concatenated
//	interior:
//	    file varint[n] | offset varint[n] | length varint[n] | num_keys varint[n] |
//	    num_tree_bytes varint[n] | num_indirect_value_bytes varint[n]
//
// Keys are strictly increasing byte strings, relative to a prefix that grows on
// the way down: a child's keys lack the first subtree_prefix_length bytes of
// the key of its entry. That key is a lower bound of the child's keys; the next
// entry's key is an upper one.
//
// # Commits
//
// A commit writes new nodes on the paths from the root to its changes, and shares all other nodes
// with the previous version. Nodes are split, never merged. When the block of versions in the
// manifest is full, it becomes a version-tree leaf. The leaf joins the node of height 1 that covers
// its block; when that node is full, it joins a node of height 2, and so on. Everything goes to new
// files; replacing the manifest makes the version the newest. DB.Commit makes such bytes,
// Union.Merge embeds the databases of several processes by reference, Compact leaves one version
// without garbage, and Check reads everything and reports what is damaged, unused or orphaned.
//
// # Trust
//
// Input may be hostile. Checksums, bounds, orders, heights and counts are checked before memory is
// allocated. The file and Options.MaxNodeBytes bound the allocated memory. Paths that leave the
// directory are refused. Every such finding is an errs.Corrupt with file, offset and reason. The
// height in the manifest bounds the depth of a walk: it falls by one from node to child, so cycles
// end.
package ocdbt

// ManifestName is the name of the file that makes a directory a database.
const ManifestName = "manifest.ocdbt"

// Limits of the format.
const (
	MaxKeyLength   = 65535   // of a key, prefix included
	MaxPathLength  = 65535   // of a data file path, transitive part included
	MaxInlineValue = 1 << 20 // bytes of one inline value
	MaxNodeArity   = 1 << 20 // entries of one node
)
