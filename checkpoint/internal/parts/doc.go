// Package parts makes one checkpoint from several: from the parts of a session of partial saves, or
// from a committed checkpoint and an addition.
//
// A session is a directory beside its future checkpoint:
//
//	<name>.partial_save/
//	    <name>.partial_save.pending_<nanoseconds>_<32 hex>/    a part, as v1.partial.save leaves it:
//	        orbax.checkpoint  _CHECKPOINT_METADATA  commit_success.txt
//	        <item>/_METADATA  _strings.json  array_metadatas/  _sharding
//	        <item>/ocdbt.process_0/manifest.ocdbt  d/<32 hex>  the database of the part
//	        <item>/ocdbt.process_0/bivouac.manifest            of the part, if Bivouac wrote it
//	        bivouac.partial                                    what it removes from earlier parts
//	    <name>.partial_save.pending_0_guard/                   if Orbax must not finalize it
//
// Parts count in the order of their times. Documents are joined, databases merged
// by reference, data files linked and never copied or changed. If Bivouac wrote all parts, the
// checkpoint has a manifest, which is made from theirs.
//
// # Guard
//
// Orbax moves files while it finalizes. It fails in the middle if two parts have strings, and it
// ignores removals. A session that Orbax cannot finalize therefore gets a first part whose
// _METADATA is not JSON: Orbax reads it before it changes anything, and gives up.
package parts
