//go:build !bivouac_wheel

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// A channel takes alerts.
type channel struct {
	name string
	tell func(ctx context.Context, a alert) error
}

// channels returns the channels that the flags name. The output is always one.
func (o *WatchOptions) channels(g *global) []channel {
	list := []channel{{"output", func(_ context.Context, a alert) error {
		if g.machine() {
			return g.printJSONLine(a)
		}
		word := painted{bad, "ALERT"}
		if a.State == "over" {
			word = painted{good, "over "}
		}
		// The text is of one line: names in it are escaped.
		g.printf("%s %s", a.Time.Local().Format(time.DateTime), "")
		io.WriteString(g.stdout, g.paint(word.colour, word.text)) //nolint:errcheck // output keeps the error
		g.printf(" %-10s %s\n", string(a.Cause), a.Text)
		return nil
	}}}
	if o.OnAlert != "" {
		list = append(list, channel{"command", func(ctx context.Context, a alert) error {
			return tellCommand(ctx, o.OnAlert, a, g.stderr)
		}})
	}
	if o.Webhook != "" {
		client := o.client()
		list = append(list, channel{"webhook", func(ctx context.Context, a alert) error {
			return tellWebhook(ctx, client, o.Webhook, a, firstPause)
		}})
	}
	return list
}

// client returns the client of the webhook. It follows no redirection: another host must not learn
// the URL.
func (o *WatchOptions) client() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// deliver gives each channel the alerts that are due. After a failure the other alerts of the
// channel wait for the next look.
func (w *watch) deliver(ctx context.Context) {
	var names []string
	runs := make([]string, 0, len(w.memory.Runs))
	for run := range w.memory.Runs {
		runs = append(runs, run)
	}
	slices.Sort(runs)
	for _, c := range w.channels {
		names = append(names, c.name)
	channel:
		for _, run := range runs {
			list, take := w.memory.Runs[run].due(c.name, w.now())
			for i, a := range list {
				if err := w.tell(ctx, c, a); err != nil {
					w.g.warn(errs.Wrap("watch", c.name, err))
					break channel
				}
				take[i]()
			}
		}
	}
	for _, run := range runs {
		m := w.memory.Runs[run]
		final := len(m.Open) > 0
		for _, t := range m.Open {
			final = final && t.Final
		}
		m.settle(names)
		if len(m.Open) == 0 && (final || w.runs[run] == nil) {
			delete(w.memory.Runs, run) // it is gone
		}
	}
}

// tell gives a channel one alert within the deadline.
func (w *watch) tell(ctx context.Context, c channel, a alert) error {
	ctx, stop := context.WithTimeoutCause(ctx, w.o.Deadline, &errs.Error{Kind: errs.IO,
		Want: "an end within " + w.o.Deadline.String(), Got: "none"})
	defer stop()
	return c.tell(ctx, a)
}

// tellCommand runs a command of the shell with an alert. Its output goes to standard error.
func tellCommand(ctx context.Context, command string, a alert, out io.Writer) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(b), out, out, time.Second
	cmd.Env = append(os.Environ(), "BIVOUAC_ALERT_CAUSE="+string(a.Cause), "BIVOUAC_ALERT_STATE="+a.State,
		"BIVOUAC_ALERT_RUN="+printable(a.Run), "BIVOUAC_ALERT_SUBJECT="+printable(a.Subject),
		"BIVOUAC_ALERT_STEP="+strconv.FormatInt(a.Step, 10), "BIVOUAC_ALERT_MESSAGE="+printable(a.Text))
	ownGroup(cmd)
	err = cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it ended well, and something that it started still holds its output
	}
	if err != nil {
		return &errs.Error{Kind: errs.IO, Want: "exit status 0", Err: err}
	}
	return nil
}

const (
	firstPause = time.Second      // between two attempts; each further pause is twice as long
	mostPause  = 16 * time.Second // between two attempts
)

// tellWebhook posts an alert, again and again until the server takes it, the context ends, or the
// server says that another attempt is useless. No error has the URL, which may be a secret.
func tellWebhook(ctx context.Context, client *http.Client, to string, a alert, pause time.Duration) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	var last error
	for {
		again, err := post(ctx, client, to, b)
		if err == nil || !again {
			return err
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, mostPause)
		case <-ctx.Done():
			if last == nil {
				last = context.Cause(ctx)
			}
			return last
		}
	}
}

// post sends one request. again reports whether another attempt may succeed.
func post(ctx context.Context, client *http.Client, to string, body []byte) (again bool, err error) {
	failed := &errs.Error{Kind: errs.IO, Subject: "the webhook", Want: "an answer with status 2xx"}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		failed.Got = "a URL that cannot be used"
		return false, failed
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "bivouac/"+currentVersion().Version)
	answer, err := client.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL
		}
		failed.Err = err
		return true, failed
	}
	defer answer.Body.Close()                               //nolint:errcheck // only read
	io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) //nolint:errcheck // so that the connection is used again
	code := answer.StatusCode
	if code/100 == 2 {
		return false, nil
	}
	failed.Got = "status " + strconv.Itoa(code)
	return code/100 == 5 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout, failed
}
