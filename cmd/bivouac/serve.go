package main

import (
	"context"
	"log/slog"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/serve"
)

// ServeOptions are the flags of `bivouac serve`.
type ServeOptions struct {
	FD     int
	Listen string
	Linger time.Duration
}

// AddFlags declares the flags.
func (o *ServeOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.FD, "fd", -1, "serve one client over the socket that was inherited as descriptor N")
	f.StringVar(&o.Listen, "listen", "", "serve all clients of this user that connect to the Unix socket PATH")
	f.DurationVar(&o.Linger, "linger", 30*time.Second, "with --listen: end when there was no client for this long")
}

func newServeCommand(g *global) *cobra.Command {
	var o ServeOptions
	return with(&cobra.Command{
		Use:   "serve",
		Short: "Save and load for trainers in other languages, over a Unix socket",
		Long: `Save and load for trainers in other languages, over a Unix socket. The Python
package starts this command beside a trainer with --fd. docs/format/serve.md is
the protocol.

With --listen all trainers of a machine share one server: start it, and set
BIVOUAC_SERVE=PATH for them. The directory of PATH is made if it does not exist,
and refused if other users can enter it.

The server ends when its client has closed the connection, with --listen when
there was no client for the time of --linger. Saves that were accepted are
finished first. SIGINT, SIGTERM and SIGHUP are ignored: the trainer decides.

` + exitCodesHelp,
		Example: `  bivouac serve --listen "$XDG_RUNTIME_DIR/bivouac/serve.sock"`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServe(cmd, o, g) },
	}, o.AddFlags)
}

// rarely is memory that is never touched, so that it takes nothing but addresses. The garbage
// collector counts it: with a small heap it runs after 16 MiB of garbage and not after 4, which is
// a third of the time of small calls.
const rarely = 16 << 20

func runServe(cmd *cobra.Command, o ServeOptions, g *global) error {
	if cmd.Flags().Changed("fd") == (o.Listen != "") {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "serve", Want: "one of --fd N and --listen PATH"}}
	}
	defer runtime.KeepAlive(make([]byte, rarely))
	// SIGPIPE would end the process when the log's reader is gone.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	ctx := context.WithoutCancel(cmd.Context())
	so := serve.Options{Version: currentVersion().Version, Log: slog.New(slog.NewTextHandler(g.stderr, nil)),
		CheckURL: checkScheme}
	if o.Listen == "" {
		return serve.ServeFile(ctx, o.FD, so)
	}
	if o.Linger <= 0 {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "serve", Subject: "--linger", Want: "a time above 0",
			Got: o.Linger.String()}}
	}
	path, err := filepath.Abs(o.Listen)
	if err != nil {
		return err
	}
	return serve.Listen(ctx, path, serve.ListenOptions{Options: so, Linger: o.Linger})
}
