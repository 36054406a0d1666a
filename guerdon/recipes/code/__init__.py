"""Programs: rewards from tests, and from what is said about them; debugging, reflecting, and starts and search by lines."""
