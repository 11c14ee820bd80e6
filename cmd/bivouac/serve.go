package main

import (
	"context"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/serve"
)

// ServeOptions are the flags of `bivouac serve`.
type ServeOptions struct {
	FD int
}

// AddFlags declares the flags.
func (o *ServeOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.FD, "fd", -1, "serve one client over the socket that was inherited as this descriptor")
}

func newServeCommand(g *global) *cobra.Command {
	var o ServeOptions
	return with(&cobra.Command{
		Use:   "serve --fd N",
		Short: "Do the work of a trainer in another language, over a Unix socket",
		Long: `Do the work of a trainer in another language, over a Unix socket. The Python
package starts this command; docs/format/serve.md describes what the two say.

` + exitCodesHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd, o, g) },
	}, o.AddFlags)
}

func runServe(cmd *cobra.Command, o ServeOptions, g *global) error {
	if !cmd.Flags().Changed("fd") {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "serve", Want: "--fd N"}}
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	ctx := context.WithoutCancel(cmd.Context())
	so := serve.Options{Version: currentVersion().Version, Log: slog.New(slog.NewTextHandler(g.stderr, nil))}
	return serve.ServeFile(ctx, o.FD, so)
}
