// Package peer lets the processes of a job send each other bytes that are too many for the board of
// their cluster. A load uses it to read a checkpoint once for several processes:
//
//	m, err := cluster.Open(ctx, "/shared/run/.cluster", cluster.Options{Rank: rank, World: world})
//	…
//	peers, err := peer.Open(ctx, m, peer.Options{})
//	…
//	defer peers.Close()
//	o.Array.Loading.UseLoadAndBroadcast = options.On
//	o.Array.Loading.LoadAndBroadcast.Peers = peers
//
// # How processes find each other
//
// Each process listens on a port. All tell each other over the board: the addresses, the SHA-256 of
// the certificate, and a token. A process tries the addresses of another one in their order, until
// one answers with the right certificate.
//
// # Who may connect
//
// Connections use TLS 1.3. Each process makes a key and a certificate when it opens;
// Options.CertFile and Options.KeyFile give others. A client accepts only the certificate whose
// SHA-256 is on the board, and, with Options.CAFile, only if that authority has signed it for the
// host. A server accepts only requests with its token, which it draws when it opens. So a program
// that can read the board can connect, and no other one: protect the board as you protect the
// checkpoints. Errors and logs never have a token.
//
// # What it is made of
//
// Streams are responses of HTTP/1.1, by net/http of the standard library. The body of a response
// has only the buffers of its connection: a receiver that reads slowly slows its sender down.
// HTTP/2 and gRPC would share one connection between streams, with windows of their own for each. A
// stream here is one large download, so it has its connection for itself.
package peer
