package main

import (
	"context"
	"crypto/ed25519"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/spf13/cobra"
)

// trust is the flag with the key that must have signed the checkpoint that a command reads.
type trust struct {
	Key string // file with a public key; "" checks no signature
}

func (t *trust) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.Key, "key", "",
		"file with the public Ed25519 key that must have signed the checkpoint: PEM, an ssh line, or base64")
}

// key reads the key, or returns nil if no key was given.
func (t trust) key() (ed25519.PublicKey, error) {
	if t.Key == "" {
		return nil, nil
	}
	return readKey(t.Key)
}

// find finds the checkpoint that path means, as resolve does, and returns how to load it. With a
// key, a step of a run must have been signed as that step.
func (t trust) find(ctx context.Context, path string, step int64, g *global) (string, checkpoint.LoadOptions, error) {
	var o checkpoint.LoadOptions
	found, err := resolve(ctx, path, step, g)
	if err == nil {
		o.Verification, err = t.key()
	}
	wider := options.From(ctx)
	if o.Verification == nil {
		o.Verification = wider.Verification
	}
	if o.Verification != nil && wider.Label == "" && found.run {
		o.Label = training.Label(*found.step)
	}
	return found.path, o, err
}
