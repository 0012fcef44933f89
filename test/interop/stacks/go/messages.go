package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

func sendAndComplete(ctx context.Context) error {
	_, _, receiver, err := start(ctx, nil, "hello")
	if err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, "hello")
	if err != nil {
		return err
	}
	if message.MessageID == "" || message.SequenceNumber == nil || message.LockedUntil == nil || message.DeliveryCount != 1 {
		return fmt.Errorf("fields are missing: %+v", message)
	}
	return first(receiver.CompleteMessage(ctx, message, nil), nothing(ctx, receiver), receiver.Close(ctx))
}

func batch(ctx context.Context) error {
	_, sender, receiver, err := start(ctx, nil)
	if err != nil {
		return err
	}
	batch, err := sender.NewMessageBatch(ctx, nil)
	if err != nil {
		return err
	}
	var ought []string
	for i := 0; i < 50; i++ {
		body := fmt.Sprintf("b%d", i)
		ought = append(ought, body)
		if err := batch.AddMessage(&azservicebus.Message{Body: []byte(body)}, nil); err != nil {
			return err
		}
	}
	if err := sender.SendMessageBatch(ctx, batch, nil); err != nil {
		return err
	}
	messages, err := take(ctx, receiver, 50)
	if err != nil {
		return err
	}
	var is []string
	for _, message := range messages {
		is = append(is, string(message.Body))
		if err := receiver.CompleteMessage(ctx, message, nil); err != nil {
			return err
		}
	}
	return same(is, ought)
}

func largeMessage(ctx context.Context) error {
	body := strings.Repeat("0123456789", 20_000)
	_, _, receiver, err := start(ctx, nil, body)
	if err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, body)
	if err != nil {
		return err
	}
	return receiver.CompleteMessage(ctx, message, nil)
}

func properties(ctx context.Context) error {
	_, sender, receiver, err := start(ctx, nil)
	if err != nil {
		return err
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	given := map[string]any{
		"text": "t", "int32": int32(-3), "int64": int64(1) << 60, "uint8": uint8(7), "float32": float32(1.5),
		"double": 1.0, "bool": true, "time": at, "bytes": []byte{1, 2}, "nil": nil,
	}
	ttl := 5 * time.Minute
	err = sender.SendMessage(ctx, &azservicebus.Message{
		Body: []byte("b"), ApplicationProperties: given, MessageID: ptr("id"), CorrelationID: ptr("c"),
		ContentType: ptr("text/plain"), Subject: ptr("s"), To: ptr("to"), ReplyTo: ptr("r"),
		ReplyToSessionID: ptr("rs"), PartitionKey: ptr("p"), TimeToLive: &ttl,
	}, nil)
	if err != nil {
		return err
	}
	m, err := takeOne(ctx, receiver, "b")
	if err != nil {
		return err
	}
	for name, ought := range given {
		if err := same(fmt.Sprintf("%T %v", m.ApplicationProperties[name], m.ApplicationProperties[name]), fmt.Sprintf("%T %v", ought, ought)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	is := []any{m.MessageID, *m.CorrelationID, *m.ContentType, *m.Subject, *m.To, *m.ReplyTo, *m.ReplyToSessionID, *m.PartitionKey, *m.TimeToLive, m.ExpiresAt.Sub(*m.EnqueuedTime)}
	return same(is, []any{"id", "c", "text/plain", "s", "to", "r", "rs", "p", ttl, ttl})
}

func receiveAndDelete(ctx context.Context) error {
	name, _, _, err := start(ctx, nil, "a", "b", "c")
	if err != nil {
		return err
	}
	receiver, err := bus.NewReceiverForQueue(name, &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete})
	if err != nil {
		return err
	}
	if _, err := take(ctx, receiver, 3); err != nil {
		return err
	}
	left, err := receiver.PeekMessages(ctx, 10, nil)
	return first(err, same(len(left), 0), receiver.Close(ctx))
}

func peek(ctx context.Context) error {
	_, _, receiver, err := start(ctx, nil, "a", "b", "c")
	if err != nil {
		return err
	}
	var seen []string
	for i := 0; i < 3; i++ {
		messages, err := receiver.PeekMessages(ctx, 2, nil)
		if err != nil {
			return err
		}
		for _, message := range messages {
			seen = append(seen, string(message.Body))
		}
	}
	from, err := receiver.PeekMessages(ctx, 5, &azservicebus.PeekMessagesOptions{FromSequenceNumber: ptr(int64(0))})
	return first(err, same(seen, []string{"a", "b", "c"}), same(len(from), 3))
}

func schedule(ctx context.Context) error {
	_, sender, receiver, err := start(ctx, nil)
	if err != nil {
		return err
	}
	messages := []*azservicebus.Message{{Body: []byte("later")}, {Body: []byte("never")}}
	numbers, err := sender.ScheduleMessages(ctx, messages, time.Now().Add(time.Hour), nil)
	if err != nil {
		return err
	}
	soon, err := sender.ScheduleMessages(ctx, []*azservicebus.Message{{Body: []byte("soon")}}, time.Now().Add(time.Second), nil)
	if err != nil {
		return err
	}
	seen, err := receiver.PeekMessages(ctx, 10, nil)
	if err != nil {
		return err
	}
	if err := first(same(len(numbers), 2), same(len(soon), 1), same(len(seen), 3),
		same(seen[0].State, azservicebus.MessageStateScheduled), sender.CancelScheduledMessages(ctx, numbers, nil)); err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, "soon")
	if err != nil {
		return err
	}
	return first(receiver.CompleteMessage(ctx, message, nil), nothing(ctx, receiver))
}
