package state

// Stateful is implemented by whatever has a position.
//
// AppendState is called between two Nexts on the producing goroutine and means
// "what was produced"; internal/flow carries that token with the batch, and the
// stream's State is the token of the batch that was delivered. SetState is legal
// whenever nothing is in flight; it refuses what does not fit, and says why.
type Stateful interface {
	AppendState(dst []byte) ([]byte, error)
	SetState([]byte) error
}
