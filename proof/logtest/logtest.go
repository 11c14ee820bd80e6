// Package logtest has a logger for tests of what is logged.
package logtest

import (
	"context"
	"log/slog"
)

// New returns a logger that calls keep with the message of each record.
func New(keep func(message string)) *slog.Logger { return slog.New(handler(keep)) }

type handler func(message string)

func (handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	h(r.Message)
	return nil
}

func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h handler) WithGroup(string) slog.Handler { return h }
