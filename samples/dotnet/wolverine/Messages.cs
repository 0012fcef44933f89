namespace Shop;

/// <summary>A command: one queue, one handler, and neither is lost with a process.</summary>
public record PlaceOrder(string OrderId, decimal Total);

/// <summary>An event: a topic, and as many subscriptions as want to hear of it.</summary>
public record OrderPlaced(string OrderId, decimal Total);

/// <summary>A request, which <see cref="Quote"/> answers.</summary>
public record GetQuote(string Article, int Count);

public record Quote(string Article, decimal Price);

/// <summary>A step of a parcel. Its session is the parcel, so its steps come one after the other.</summary>
public record MoveParcel(string ParcelId, int Step);

/// <summary>Is sent now and arrives at its time.</summary>
public record RemindCustomer(string OrderId);

/// <summary>Calls a service that may be busy, which is tried again later, or may refuse.</summary>
public record ChargeCard(string OrderId, decimal Amount);

/// <summary>Uses a printer, of which there are few.</summary>
public record PrintLabel(string OrderId);
