// Package integrity verifies checkpoints and repairs them.
//
//	r, err := integrity.Verify(ctx, "ckpt", nil)     // reads every byte; r.Verdict has the result
//	_, err = integrity.Adopt(ctx, "ckpt", nil)       // gives Orbax's checkpoint checksums of all bytes
//	_, err = integrity.Repair(ctx, "run", nil)       // says what can be repaired; Apply does it
//
// Verify and Repair without Apply change nothing.
package integrity
