//go:build bivouac_wheel

package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// observe says that the command of the wheel sends no telemetry, if the environment asks for it.
func observe(ctx context.Context, warn func(error)) (context.Context, func(*cobra.Command, int, error)) {
	if wantsTelemetry(os.Getenv) {
		warn(&errs.Error{Kind: errs.Unsupported, Op: "telemetry", Subject: "OTEL_*", Want: "a command that was built whole",
			Got:    "the command of the Python package, which sends nothing",
			Remedy: "go build ./cmd/bivouac in a clone of the repository, or unset the variables for bivouac"})
	}
	return ctx, func(*cobra.Command, int, error) {}
}
