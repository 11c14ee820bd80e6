// Package crew makes one checkpoint from the data of several processes.
//
// The processes share a store, and a barrier that carries no data. One of them is the
// primary: it admits the save, writes the data that all processes share, publishes and cleans up.
// Every process calls the same four methods, even if it could not do its part:
//
//	Group.Meet       the primary opens a meeting, the others find it
//	Meeting.Agree    the data of each process is compared with the primary's; the work is divided
//	Meeting.Join     as writer.Options.Join, for the draft of this process
//	Meeting.Write    all write; the primary merges and publishes; all learn the outcome
//
// # Meeting
//
// A meeting is two transactions of the primary that the others join. One becomes the
// checkpoint, and only files of the checkpoint are written into it. The other one is
// aborted at the end. It holds the messages of the processes:
//
//	<name>.orbax-checkpoint-tmp-<16 hex>/                the checkpoint that is being built
//	    <item>/d/<32 hex>                                data files of all processes
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
// Barriers only wait. A passed barrier proves nothing. The primary publishes when it has read the
// report of every process, and a process writes its report when its files are durable. A barrier
// that returns too early, or fails, makes the save fail, but never makes a wrong checkpoint. A
// process that is killed leaves two directories with temporary names, which the next save of that
// name removes.
//
// A process that fails before its report knows that nothing becomes visible. After its report, a
// process that cannot read the outcome does not know it: its error has store.ErrUncertain in its
// chain.
//
// # Who writes what
//
// The primary writes leaves that are given whole, and items that are not trees; the other processes
// only need to have the same leaves. The shards of a leaf, over all processes, must tile it. If
// several processes have the same shard, the lowest of them writes it. Chunks are the largest boxes
// that divide every shard evenly. So each chunk lies in one process, which writes it into its own
// data files. The contributions of the processes to the checksum of an array are joined by XOR. So
// the primary makes one database and one manifest without any element of another process.
package crew
