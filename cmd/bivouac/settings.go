package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/spf13/cobra"
)

// settings is the flag for options of the library. Other flags take precedence.
type settings struct {
	Options string // name of a file, or ""
}

func (s *settings) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Options, "options", "",
		"file with options of the library, under the names of Orbax, in JSON or YAML; other flags take precedence")
}

// scope returns a context with the options of the file. An unknown option name is errs.Invalid,
// with file, line and name.
func (s settings) scope(ctx context.Context) (context.Context, error) {
	if s.Options == "" {
		return ctx, nil
	}
	b, err := readText(s.Options, "options")
	if err != nil {
		return ctx, err
	}
	parse := options.ParseYAML
	if strings.EqualFold(filepath.Ext(s.Options), ".json") {
		parse = options.ParseJSON
	}
	o, err := parse(b)
	if err != nil {
		return ctx, usageError{errs.Wrap("options", s.Options, err)}
	}
	return options.With(ctx, o), nil
}

// readText reads a file that the command line names.
func readText(name, op string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err == nil {
		return b, nil
	}
	return nil, unopened(op, name, err)
}

// unopened returns the error for a file of the command line that could not be opened.
func unopened(op, name string, err error) error {
	kind := errs.IO
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = errs.NotFound
	case errors.Is(err, fs.ErrPermission):
		kind = errs.Permission
	}
	return &errs.Error{Kind: kind, Op: op, Subject: name, Err: err}
}
