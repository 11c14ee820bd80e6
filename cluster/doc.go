// Package cluster is what the processes of one job need of each other: they join, wait for each
// other, tell each other small things, and elect a process for work that only one may do.
//
//	m, err := cluster.Open(ctx, "/shared/run/.cluster", cluster.Options{Rank: rank, World: world})
//	…
//	defer m.Close()
//	o.Multiprocessing = m.Multiprocessing() // sharded saves use the barriers of m
//
// FromEnvironment finds rank and world in what torchrun, Slurm, MPI, Kubernetes or JAX say.
//
// # Boards
//
// The members share a Board: small documents with versions, which change by compare-and-swap. It is
// in the memory of the process (InProcess), in a shared directory (Directory), in a bucket (package
// cluster/bucket) or in etcd (package cluster/etcd). OpenBoard picks by URL. The documents are:
//
//	job            which job uses the board: name, epoch, world, terms
//	member/RANK    written by this member alone: where it waits; a sign of life
//	round          written by rank 0: the members that joined; the keys to which all came
//	part/…         values too large for these, until all have read them
//	lease/NAME     the holder of a lease, and its token
//
// # Calls to which all come
//
// A member that calls Barrier lists the key in its document, with a nonce. Rank 0 reads the
// documents that changed. When all members list the key, it writes their nonces into the round, and
// each member that finds its nonce there returns. The round keeps the entry while a member lists
// one of the nonces. So one key serves any number of rounds, the documents do not grow, and a
// process of rank 0 that starts again goes on from the documents.
//
// # Who is dead
//
// A member writes its document again four times in a lease. No clocks are compared: a process that
// wants the place of another watches the version of its document, and counts the time by its own
// clock from the first look. A member whose place was taken finds another version when it writes
// next. From then on its calls fail with ErrFenced. What it did before is held back by fencing
// tokens (Lease.Token), or by the conditions of the store, as commits are.
//
// # What never happens
//
// No call waits longer than Options.Deadline or its context, and the error names the members that
// have not come. A barrier that fails on one member may have succeeded on others, because the
// answer may be on its way when the time is over.
package cluster
