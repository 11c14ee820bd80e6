//go:build !bivouac_wheel

package main

import (
	"context"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// WatchOptions are the flags of `bivouac watch`.
type WatchOptions struct {
	parallel
	Stall    age
	Factor   float64
	Since    age
	Every    time.Duration
	Verify   bool
	Once     bool
	State    string
	OnAlert  string
	Webhook  string
	Deadline time.Duration
}

// AddFlags declares the flags.
func (o *WatchOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&o.Stall, "stall",
		"a run stalls if it has no new step for this time, such as 20m or 2h; by default see --factor")
	f.Float64Var(&o.Factor, "factor", 10, "without --stall: a run stalls after this number of its usual times for a step")
	o.Since = age(7 * 24 * time.Hour)
	f.Var(&o.Since, "since", "a run that did nothing for this time when it is first seen does not stall")
	f.DurationVar(&o.Every, "every", 30*time.Second, "time between two looks")
	f.BoolVar(&o.Verify, "verify", false, "read each new step, and check every byte")
	f.BoolVar(&o.Once, "once", false, "look once and end, for cron")
	f.StringVar(&o.State, "state", "", "directory that remembers between calls which alerts were given")
	f.StringVar(&o.OnAlert, "on-alert", "", "command for the shell that gets each alert, as JSON and in its environment")
	f.StringVar(&o.Webhook, "webhook", "", "URL that gets each alert as JSON; by default "+webhookVariable)
	f.DurationVar(&o.Deadline, "deadline", 30*time.Second, "how long one alert may take, with all attempts")
}

// webhookVariable is the variable of the environment with the URL of the webhook. Other users of a
// machine see arguments, and not the environment.
const webhookVariable = "BIVOUAC_WEBHOOK"

func newWatchCommand(g *global) *cobra.Command {
	var o WatchOptions
	return with(&cobra.Command{
		Use:   "watch DIR…",
		Short: "Watch runs, and give an alert when one stalls, loses steps or is damaged",
		Long: `Watch runs, and give an alert when something is wrong with one. The causes:

  stall       no new step within --stall, or within --factor times the usual time for a step
              (at least a minute; 30 minutes if no usual time is known)
  failed      the last attempt ended with an error
  lost        the newest step or a step with a tag is not there any more, a step was set
              aside, a signed step is missing, or a run that had not ended was removed
  damaged     a step is not whole, a scrub found damage, or --verify did
  unreadable  the run could not be read, twice

Each cause of a run gives one alert, and one more when it is over. An alert is a line of
output (JSON with --json), a call of --on-alert and a request to --webhook. An alert that
does not get through is given again after the next look.

DIR is a run, a directory with runs up to 5 levels below it, or a pattern. Runs may come
and go. A look reads the names in a run and the last row of its journal, and more only
if something has changed. A run that has ended does not stall; one that was preempted or
killed has not ended. A run without a journal stalls only if it saved a step while it was
watched.

--on-alert is a command for sh. It gets the alert as JSON on standard input, and its
facts in BIVOUAC_ALERT_CAUSE, _STATE (begun or over), _RUN, _SUBJECT, _STEP and _MESSAGE.
--webhook gets the same JSON with POST. Its URL is never printed.

With --once the exit status is 4 if a run has lost steps or is damaged, 1 if another cause
lasts, and else 0. --state DIR remembers what was told, for the next call.

` + exitCodesHelp,
		Example: `  bivouac watch runs --on-alert 'mail -s "$BIVOUAC_ALERT_MESSAGE" me@example.org'
  BIVOUAC_WEBHOOK=https://example.org/hook bivouac watch 's3://bucket/runs/*' --stall 20m
  bivouac watch runs --once --state /var/lib/bivouac-watch --verify   # in a crontab`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Webhook == "" {
				o.Webhook = os.Getenv(webhookVariable)
			}
			return runWatch(cmd.Context(), args, o, g)
		},
	}, o.AddFlags, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
}

// validate returns an error for flags that cannot be meant. It does not repeat the webhook.
func (o *WatchOptions) validate() error {
	wrong := func(flag, want, got string) error {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "watch", Subject: flag, Want: want, Got: got}}
	}
	if !(o.Factor >= 1) {
		return wrong("--factor", "a number of at least 1", strconv.FormatFloat(o.Factor, 'g', -1, 64))
	}
	if o.Every < mostWatched {
		return wrong("--every", "a time of at least "+mostWatched.String(), o.Every.String())
	}
	if o.Deadline <= 0 {
		return wrong("--deadline", "a time above 0", o.Deadline.String())
	}
	if o.Webhook != "" {
		if u, err := url.Parse(o.Webhook); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return wrong("--webhook", "a URL of http:// or https://", "something else")
		}
	}
	return nil
}

func runWatch(ctx context.Context, args []string, o WatchOptions, g *global) error {
	if err := o.validate(); err != nil {
		return err
	}
	w := &watch{args: args, o: o, g: g, now: time.Now, runs: map[string]*watchedRun{}, channels: o.channels(g)}
	if err := w.remember(ctx); err != nil {
		return err
	}
	defer w.close()
	for first := true; ; first = false {
		err := w.poll(ctx)
		switch {
		case ctx.Err() != nil && !o.Once:
			return nil
		case err != nil && (first || o.Once):
			return err
		case err != nil:
			g.warn(err)
		}
		if o.Once {
			return w.verdict()
		}
		select {
		case <-time.After(o.Every):
		case <-ctx.Done():
			return nil
		}
	}
}
