package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// source are the flags of commands that read one checkpoint: which, and how.
type source struct {
	trust
	settings
	Step int64  // of a run
	Item string // "" is the default
}

func (s *source) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &s.Step, "step", 0, anyStep, "step of a run; by default the newest")
	f.StringVar(&s.Item, "item", "", "tree to look in; by default state, or the first")
	s.trust.addFlag(cmd)
	s.settings.addFlag(cmd)
}

// located is a checkpoint that was found, and how to load from it.
type located struct {
	path string
	load checkpoint.LoadOptions
}

// locate finds the checkpoint that path and the flags mean. The options of the
// command line hold in the context that it returns.
func (s source) locate(ctx context.Context, path string, g *global) (context.Context, located, error) {
	ctx, err := s.scope(ctx)
	if err != nil {
		return ctx, located{}, err
	}
	found, load, err := s.find(ctx, path, s.Step, g)
	load.Name = s.Item
	return ctx, located{found, load}, err
}

// open opens the tree that the flags mean. Close must be called.
func (l located) open(ctx context.Context) (*checkpoint.Reader, error) {
	return checkpoint.OpenReader(ctx, l.path, &l.load)
}

// trust is the flag with the key that must have signed the checkpoint that a command reads.
type trust struct {
	Key string // file of a public key; "" asks for no signature
}

func (t *trust) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.Key, "key", "", "file of the public Ed25519 key that must have signed what is read: PEM, an ssh line, or base64")
}

// key reads the key, or returns nil if no key was given.
func (t trust) key() (ed25519.PublicKey, error) {
	if t.Key == "" {
		return nil, nil
	}
	return readKey(t.Key)
}

// find finds the checkpoint that path means, as resolve does, and how to load
// it. A step of a run must have been signed as that step.
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

// settings is the flag for options of the library. Other flags take precedence.
type settings struct {
	Options string // name of a file, or ""
}

func (s *settings) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Options, "options", "", "file of options of the library under Orbax's names, JSON or YAML; other flags take precedence")
}

// scope returns a context in which the options of the file hold. A name that no
// option has is errs.Invalid, with file, line and name.
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

// unopened says why a file that the command line names could not be opened.
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

// readSigningKey reads the private Ed25519 key in a file, PKCS #8 in PEM.
func readSigningKey(name string) (ed25519.PrivateKey, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, unopened("sign", name, err)
	}
	if block, _ := pem.Decode(b); block != nil {
		any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if key, ok := any.(ed25519.PrivateKey); err == nil && ok {
			return key, nil
		}
	}
	return nil, &errs.Error{Kind: errs.Invalid, Op: "sign", Subject: name, Want: "a private Ed25519 key, PKCS #8 in PEM", Got: "something else",
		Remedy: "make one with: openssl genpkey -algorithm ed25519 -out " + name}
}

// readKey reads the public Ed25519 key in a file.
func readKey(name string) (ed25519.PublicKey, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, unopened("key", name, err)
	}
	key := parseKey(b)
	if key == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "key", Subject: name,
			Want: "a public Ed25519 key: PEM as openssl writes it, a line as ssh-keygen writes it, or its 32 bytes in base64", Got: "something else"}
	}
	return key, nil
}

// parseKey reads a key in any of the three forms. It returns nil for other input.
func parseKey(b []byte) ed25519.PublicKey {
	if block, _ := pem.Decode(b); block != nil {
		any, err := x509.ParsePKIXPublicKey(block.Bytes)
		if key, ok := any.(ed25519.PublicKey); err == nil && ok {
			return key
		}
		return nil
	}
	const kind = "ssh-ed25519"
	fields := bytes.Fields(b)
	switch {
	case len(fields) == 1:
		return decodeKey(fields[0], nil)
	case len(fields) > 1 && string(fields[0]) == kind:
		head := append(binary.BigEndian.AppendUint32(nil, uint32(len(kind))), kind...)
		return decodeKey(fields[1], binary.BigEndian.AppendUint32(head, ed25519.PublicKeySize))
	}
	return nil
}

// decodeKey decodes the base64 of head followed by the key.
func decodeKey(text, head []byte) ed25519.PublicKey {
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || !bytes.HasPrefix(b, head) || len(b) != len(head)+ed25519.PublicKeySize {
		return nil
	}
	return b[len(head):]
}
