namespace Shop;

/// <summary>Where cards are charged.</summary>
public interface ICardTerminal
{
    Task Charge(ChargeCard charge);
}

/// <summary>Accepts any card but the one named "declined".</summary>
public class CardTerminal : ICardTerminal
{
    public Task Charge(ChargeCard charge)
    {
        if (charge.Card == "declined")
        {
            throw new InvalidOperationException($"Card {charge.Card} is not accepted.");
        }

        Console.WriteLine($"Charged {charge.Amount} to {charge.Card} for order {charge.OrderId}");
        return Task.CompletedTask;
    }
}
