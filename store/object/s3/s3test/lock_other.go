//go:build !linux && !darwin

package s3test

// lock locks nothing: two processes may build at the same time, and the last one wins.
func lock(string) (unlock func(), err error) { return func() {}, nil }
