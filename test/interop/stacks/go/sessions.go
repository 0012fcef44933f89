package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

func sessions(ctx context.Context) error {
	name, sender, err := newQueue(ctx, &admin.QueueProperties{RequiresSession: ptr(true)})
	if err != nil {
		return err
	}
	for _, id := range []string{"A", "B", "A"} {
		if err := sender.SendMessage(ctx, &azservicebus.Message{Body: []byte("of " + id), SessionID: ptr(id)}, nil); err != nil {
			return err
		}
	}
	session, err := bus.AcceptSessionForQueue(ctx, name, "A", nil)
	if err != nil {
		return err
	}
	if !session.LockedUntil().After(time.Now()) {
		return fmt.Errorf("the session is locked until %v", session.LockedUntil())
	}
	_, err = bus.AcceptSessionForQueue(ctx, name, "A", nil)
	if err == nil || !strings.Contains(err.Error(), "session-cannot-be-locked") {
		return fmt.Errorf("a session was accepted twice: %v", err)
	}
	state, err := session.GetSessionState(ctx, nil)
	if err := first(err, same(len(state), 0), session.SetSessionState(ctx, []byte("half"), nil)); err != nil {
		return err
	}
	state, err = session.GetSessionState(ctx, nil)
	if err := first(err, same(string(state), "half"), session.SetSessionState(ctx, nil, nil), session.RenewSessionLock(ctx, nil)); err != nil {
		return err
	}
	if state, err = session.GetSessionState(ctx, nil); err != nil || len(state) != 0 {
		return fmt.Errorf("the state is %v, %v", state, err)
	}
	messages, err := take(ctx, session, 2)
	if err != nil {
		return err
	}
	number := *messages[1].SequenceNumber
	if err := first(session.CompleteMessage(ctx, messages[0], nil), session.DeferMessage(ctx, messages[1], nil)); err != nil {
		return err
	}
	again, err := session.ReceiveDeferredMessages(ctx, []int64{number}, nil)
	if err != nil {
		return err
	}
	return first(session.CompleteMessage(ctx, again[0], nil), session.Close(ctx))
}

func nextSession(ctx context.Context) error {
	name, sender, err := newQueue(ctx, &admin.QueueProperties{RequiresSession: ptr(true)})
	if err != nil {
		return err
	}
	if err := sender.SendMessage(ctx, &azservicebus.Message{Body: []byte("n"), SessionID: ptr("N")}, nil); err != nil {
		return err
	}
	session, err := bus.AcceptNextSessionForQueue(ctx, name, nil)
	if err != nil {
		return err
	}
	message, err := takeOne(ctx, session, "n")
	if err != nil {
		return err
	}
	return first(same(session.SessionID(), "N"), session.CompleteMessage(ctx, message, nil), session.Close(ctx))
}
