//go:build !bivouac_wheel

package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/cmd/bivouac/internal/ui"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// UIOptions are the flags of `bivouac ui`.
type UIOptions struct {
	Address   string
	Hosts     []string
	TokenFile string
	Export    string
	Sheet     bool
}

// AddFlags declares the flags.
func (o *UIOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Address, "address", "127.0.0.1:0", "HOST:PORT to listen on; port 0 is any free port")
	f.StringSliceVar(&o.Hosts, "host", nil, "further names under which browsers reach this server")
	f.StringVar(&o.TokenFile, "token-file", "", "file with the token that requests must bring, also on this machine")
	f.StringVar(&o.Export, "export", "", "write the page with its data to this file, which ends with .html, and end")
	f.BoolVar(&o.Sheet, "sheet", false, "with --export: draw the samples of the last step of each run, of at most 20 runs")
}

func newUICommand(g *global) *cobra.Command {
	var o UIOptions
	return with(&cobra.Command{
		Use:   "ui PATH…",
		Short: "Show runs as a page in the browser, or write the page to a file",
		Long: `Serve a page that shows runs: their attempts with kills and resumes, saves, damage,
curves, the operators of the data, the samples of any step as pictures, the steps kept,
the leaves of a step with histograms, and what changed from one step to another. The
page says what show, ls, info, plot, diff and data peek say. It asks for nothing from
elsewhere. /metrics has the numbers of ls --openmetrics.

` + manyHelp + `

The server listens on this machine only. With --address it can listen elsewhere, and
then the page and all requests need the token that is printed. The connection is not
encrypted; a tunnel such as ssh -L is. Nothing is changed, and no lock is taken.

` + exitCodesHelp,
		Example: `  bivouac ui runs
  bivouac ui runs --export report.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Sheet && o.Export == "" {
				return misused(cmd, "--sheet", "--export beside it", "none", "the page that is served draws any step")
			}
			return runUI(cmd.Context(), args, o, g)
		},
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

// served is what `ui --json` prints when the server is ready.
type served struct {
	URL     string `json:"url"` // with the token, if one is needed
	Address string `json:"address"`
	Token   string `json:"token,omitempty"`
	Runs    int    `json:"runs"`
}

func runUI(ctx context.Context, args []string, o UIOptions, g *global) error {
	s := newSite(ctx, args, g)
	defer s.close()
	found, err := s.find(ctx)
	if err != nil {
		return err
	}
	if o.Export != "" {
		return o.exportPage(ctx, s, g)
	}
	token, err := o.token()
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return &errs.Error{Kind: errs.IO, Op: "ui", Subject: "--address " + o.Address, Err: err,
			Remedy: "--address 127.0.0.1:0 takes a free port"}
	}
	at := ln.Addr()
	if tcp, ok := at.(*net.TCPAddr); token == "" && (!ok || !tcp.IP.IsLoopback()) {
		token = ui.NewToken()
	}
	host, _, _ := net.SplitHostPort(o.Address)
	h := ui.Handler(ui.Options{Answers: s.answers(), Metrics: s.metrics, Token: token, Hosts: append(o.Hosts, host),
		Failure: func(err error) any { return newFailureText(err) }})
	out := served{URL: "http://" + o.reachable(at.String()) + "/", Address: at.String(), Token: token, Runs: found}
	if token != "" {
		out.URL += "#token=" + token
	}
	err = g.show(out, func() {
		g.printf("%s\n%d runs and checkpoints; Ctrl-C ends the server\n", out.URL, out.Runs)
	})
	if err != nil {
		ln.Close() //nolint:errcheck // nobody was served
		return err
	}
	return ui.Serve(ctx, ln, h)
}

// reachable returns what a browser asks for: the first name of --host, or the address. localhost
// stands for all addresses of the machine.
func (o *UIOptions) reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if len(o.Hosts) > 0 {
		host = o.Hosts[0]
	}
	return net.JoinHostPort(host, port)
}

// fewestToken is the length of the shortest token that is taken from a file.
const fewestToken = 16

// token reads the token that the flags name, or returns "".
func (o *UIOptions) token() (string, error) {
	if o.TokenFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return "", unopened("ui", o.TokenFile, err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < fewestToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: o.TokenFile, Want: "at least " +
			strconv.Itoa(fewestToken) + " printable characters of ASCII without spaces",
			Got: strconv.Itoa(len(token)) + " bytes", Remedy: "openssl rand -hex 16 prints a token"}
	}
	return token, nil
}

// exportPage writes the page with its data, in one move.
func (o *UIOptions) exportPage(ctx context.Context, s *site, g *global) error {
	file := o.Export
	if !strings.EqualFold(filepath.Ext(file), ".html") {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "ui", Subject: "--export", Want: "a name that ends with .html",
			Got: strconv.Quote(file)}}
	}
	dir, name := filepath.Split(file)
	abs, err := filepath.Abs(dir)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: file, Err: err}
	}
	if _, err := os.Stat(abs); err != nil {
		return &errs.Error{Kind: errs.NotFound, Op: "ui", Subject: file, Want: "a directory that exists", Err: err}
	}
	if err := replaceablePage(file); err != nil {
		return err
	}
	r, err := s.report(ctx, o.Sheet)
	if err != nil {
		return err
	}
	data, err := encodeJSON(r, "")
	if err != nil {
		return err
	}
	page, err := ui.Report(data)
	if err != nil {
		return errs.Wrap("ui", file, err)
	}
	st, err := local.Open(abs, nil)
	if err != nil {
		return err
	}
	if err := st.Put(ctx, name, page, store.PutOptions{}); err != nil {
		return errs.Wrap("ui", file, err)
	}
	out := exported{File: file, Runs: len(r.Runs.Runs), Bytes: int64(len(page))}
	return g.show(out, func() { g.printf("written: %s, %d runs, %s\n", out.File, out.Runs, size(out.Bytes)) })
}

// exported is what `ui --export --json` prints.
type exported struct {
	File  string `json:"file"`
	Runs  int    `json:"runs"`
	Bytes int64  `json:"bytes"`
}

// pageMark is in each page, and in no other file that people write.
const pageMark = `<meta name="generator" content="bivouac ui">`

// replaceablePage returns an error if file is something other than a page of this command.
func replaceablePage(file string) error {
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return nil
	}
	var b [4096]byte
	n := 0
	if err == nil {
		n, _ = f.Read(b[:])
		f.Close() //nolint:errcheck // only read
	}
	if err == nil && (n == 0 || strings.Contains(string(b[:n]), pageMark)) {
		return nil
	}
	return &errs.Error{Kind: errs.Exists, Op: "ui", Subject: file, Want: "no file, or a page of bivouac ui",
		Got: "something else", Remedy: "choose another name", Err: err}
}
