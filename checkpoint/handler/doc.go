// Package handler is how things that are no trees of arrays become items of a
// checkpoint, and how leaves of foreign types become parts of one.
//
// # Items
//
// An item is a directory of its own below the checkpoint. A
// [CheckpointableHandler] writes and reads it:
//
//	Save      isolates the value: when it returns, the caller may change it
//	Commit    writes the files, in the background where the save is
//	Load      reads it back
//	Metadata  says what is there without reading it all
//
// A value may also save itself: see [Checkpointable] and [StatefulCheckpointable].
//
// # Which handler
//
// A [Registry] holds handlers, some bound to the name of an item. [Global] has the built-in ones,
// [Local] makes one for a scope. Resolution works as in Orbax 0.12.8; a test compares a table of it
// with the real library.
//
// To save value v as item n ([Registry.ForSave]):
//
//  1. where v saves itself: the last handler without a name that takes v;
//  2. the handler bound to n, whether it takes v or not;
//  3. the last handler without a name that takes v.
//
// The tree handler is registered last of the built-in ones: what looks like JSON
// is saved as a tree unless [JSON] is bound to its name.
//
// To load item n, saved by type string t, as abstract a ([Registry.ForLoad]):
//
//  1. where a loads itself: the handler of t, if it takes a;
//  2. the handler bound to n, if a is nil or it takes a;
//  3. the handler of t, if a is nil or it takes a;
//  4. the last handler without a name that takes a, which is not nil;
//  5. the handler bound to n;
//  6. the handler bound to "state".
//
// The handler of t is the last handler that has t as its type string or as a secondary one.
// Secondary type strings find items of older versions. A handler that answers [Ask] does not take
// a.
//
// # Leaves
//
// A [LeafHandler] does the same for the leaves of one Go type in a tree, all of
// them at once. Its type string is their value_type in the tree's metadata, so
// that readers without it refuse them by name.
//
// Of the handlers that have a leaf's value_type as their type string or a secondary
// one ([LeafRegistry.ForWanted]) the one reads it of which the abstract value is a
// leaf or describes one, else the last. An item with leaves of leaf handlers is saved
// as a tree, unless another handler than [JSON] takes it.
//
// # Failures
//
// Engines call handlers by [Save], [Load], [MetadataOf], [Run] and the methods of
// [AnyLeaf], which add to an error who returned it, and make one of a panic.
package handler
