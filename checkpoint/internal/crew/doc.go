// Package crew makes one checkpoint of what several processes have.
//
// The processes share a store, and a barrier that carries no data. One of them is the
// primary: it admits the save, writes what all have alike, publishes and cleans up.
// Every process calls the same four methods, whether it could do its part or not:
//
//	Group.Meet       the primary opens a meeting, the others find it
//	Meeting.Agree    what each brings is held against the primary's; who writes what
//	Meeting.Join     as writer.Options.Join, of the draft of what this process writes
//	Meeting.Write    all write; the primary merges and publishes; all know the outcome
//
// # Meeting
//
// A meeting is two transactions of the primary that the others join. One becomes the
// checkpoint, and only files of the checkpoint are written into it. The other one is
// given up at the end, and holds what the processes say to each other:
//
//	<name>.orbax-checkpoint-tmp-<16 hex>/                the checkpoint that is being built
//	    <item>/d/<32 hex>                                data files, of whoever has the elements
//	<name>.meeting.orbax-checkpoint-tmp-<16 hex>/
//	    open        the primary, before barrier "begin":   the transaction to join; or that it declines, or why it cannot
//	    plan.<i>    each, before barrier "plan":           options, leaves, boxes of the leaves that are in shards; or why it cannot
//	    report.<i>  each other, before barrier "written":  checksums and places of what it has written, durable by then; or why it could not
//	    outcome     the primary, before barrier "end":     that the checkpoint is committed; or why it is not
//
// Before the primary removes the meeting all pass the barrier "leave".
//
//	primary   clean, open ──┬── plan ──┬── agree, write ──┬── merge, publish, outcome ──┬────────┬── remove
//	                      begin      plan              written                        end     leave
//	others                 ─┴── plan ──┴── agree, write ──┴─ report                    ─┴── read ──┴──
//
// # What is safe without a barrier
//
// Barriers only wait. Nothing is taken for done because one was passed: the primary
// publishes when it has read the report of every process, each written when what it
// reports is durable; a process believes what it has read. A barrier that returns too
// early, or fails, makes the save fail and nothing wrong. A process that is killed
// leaves two directories with temporary names, which the next save of that name
// removes.
//
// From the report on a process that cannot learn the outcome does not know it: its
// error has store.ErrUncertain in its chain. Before, a failure means that nothing
// becomes visible.
//
// # Who writes what
//
// The primary writes leaves that are given whole, and items that are not trees; the other processes
// only must have the same leaves. The shards of a leaf, over all processes, must tile it; where
// several have the same one, the lowest of them writes it. Chunks are the largest boxes of which
// every shard is made of whole ones, so that each lies in one process, which writes it into data
// files of its own. What it adds to the checksum of the array adds up (XOR), so the primary needs
// no element of another process to make one database and one manifest over all of them.
package crew
