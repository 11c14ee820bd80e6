// Package handler saves values that are not trees of arrays as items of a checkpoint, and leaves of
// foreign types as parts of a tree.
//
// # Items
//
// An item is a directory below the checkpoint. A [CheckpointableHandler] writes and reads it:
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
// The tree handler is registered last of the built-in handlers. So a value that looks like JSON is
// saved as a tree, unless [JSON] is bound to its name.
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
// A [LeafHandler] does the same for the leaves of one Go type in a tree, all of them at once. Its
// type string is the value_type of these leaves in the tree's metadata. So a reader without the
// handler refuses them by name.
//
// [LeafRegistry.ForWanted] looks at the handlers that have the leaf's value_type as their type
// string or a secondary one. It chooses the handler for which the abstract value is a leaf or
// describes one, or else the last handler. An item with leaves of leaf handlers is saved as a tree,
// unless a handler other than [JSON] takes it.
//
// # Failures
//
// Engines call handlers by [Save], [Load], [MetadataOf], [Run] and the methods of [AnyLeaf]. These
// add the name of the handler to an error, and turn a panic into an error.
package handler
