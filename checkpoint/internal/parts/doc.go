// Package parts makes one checkpoint of several: of the parts of a session of
// partial saves, or of a committed checkpoint and what is added to it.
//
// A session is a directory beside the checkpoint that it is to become:
//
//	<name>.partial_save/
//	    <name>.partial_save.pending_<nanoseconds>_<32 hex>/    a part, as v1.partial.save leaves it:
//	        orbax.checkpoint  _CHECKPOINT_METADATA  commit_success.txt
//	        <item>/_METADATA  _strings.json  array_metadatas/  _sharding
//	        <item>/ocdbt.process_0/manifest.ocdbt  d/<32 hex>  the database of the part
//	        <item>/ocdbt.process_0/bivouac.manifest            of the part, when it is one of ours
//	        bivouac.partial                                    what it takes away from the parts before
//	    <name>.partial_save.pending_0_guard/                   when Orbax must not finalize it
//
// Parts count in the order of their times. Documents are joined, databases merged
// by reference, data files linked and never copied or changed. When all parts are
// ours the checkpoint has a manifest, made of theirs.
//
// # Guard
//
// Orbax moves files while it finalizes, and fails in the middle where two parts
// have strings; of what a part takes away it knows nothing. A session that it
// cannot finalize therefore gets a part that comes first and whose _METADATA is
// not JSON: Orbax reads it before it touches anything, and gives up.
package parts
