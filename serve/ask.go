package serve

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// asks are the questions to the client that are not answered yet.
type asks struct {
	mu    sync.Mutex
	last  int64
	open  map[int64]chan reply
	ended bool
}

// ask asks the client and waits for its answer, or the end of the connection. question is an object
// without the member ask.
func (c *connection) ask(question map[string]any) (json.RawMessage, error) {
	return c.askUntil(context.Background(), question)
}

// askUntil is ask that waits no longer than ctx lasts. An answer that comes later is dropped.
func (c *connection) askUntil(ctx context.Context, question map[string]any) (json.RawMessage, error) {
	return c.askFile(ctx, func(id int64) any {
		question["ask"] = id
		return question
	}, nil)
}

// askFile is askUntil for a question that a file may travel with, which it closes. question returns
// the question with the number that it gets.
func (c *connection) askFile(
	ctx context.Context, question func(id int64) any, file *os.File,
) (json.RawMessage, error) {
	id, answered := c.asks.begin()
	if answered == nil {
		closeFile(file)
		return nil, closed()
	}
	c.sendFile(kindAsk, question(id), file)
	var r reply
	var ok bool
	select {
	case r, ok = <-answered:
	case <-ctx.Done():
		return nil, errs.Wrap("serve.ask", "client", context.Cause(ctx))
	}
	if !ok {
		return nil, closed()
	}
	if r.json == nil {
		return nil, &errs.Error{Op: "serve.ask", Subject: "client", Got: r.failure}
	}
	return r.json, nil
}

func (a *asks) begin() (int64, chan reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return 0, nil
	}
	if a.open == nil {
		a.open = map[int64]chan reply{}
	}
	a.last++
	a.open[a.last] = make(chan reply, 1)
	return a.last, a.open[a.last]
}

// end ends all questions, and those to come.
func (a *asks) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for _, answered := range a.open {
		close(answered)
	}
	a.open = nil
}

// answer takes an answer of the client.
func (a *asks) answer(body []byte) error {
	var t struct {
		Ask   int64           `json:"ask"`
		Value json.RawMessage `json:"value"`
		Error *string         `json:"error"`
	}
	if err := decodeFrame(kindAnswer, kindAnswer, body, &t); err != nil {
		return err
	}
	if (t.Value == nil) == (t.Error == nil) {
		return violation("an answer with a value or an error", clipped(body))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	answered := a.open[t.Ask]
	if answered == nil {
		return violation("an answer to an open question", strconv.FormatInt(t.Ask, 10))
	}
	delete(a.open, t.Ask)
	r := reply{json: t.Value}
	if t.Error != nil {
		r.failure = *t.Error
	}
	answered <- r
	return nil
}
